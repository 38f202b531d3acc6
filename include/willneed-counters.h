/* SPDX-License-Identifier: MIT */
/*
 * The one list of counters: struct willneed_stats, WILLNEED_STATS and the manual come
 * from here.  Included with WILLNEED_COUNTER(name, help) defined, so it has no guard.
 */
WILLNEED_COUNTER(maps, "file mappings watched")
WILLNEED_COUNTER(maps_refused, "file mappings not watched because a table was full")
WILLNEED_COUNTER(copies, "large copies out of a watched mapping")
WILLNEED_COUNTER(copies_cold, "of copies, those that found their source not cached")
WILLNEED_COUNTER(copy_bytes, "bytes moved by large copies out of a watched mapping")
WILLNEED_COUNTER(demand_bytes,
		 "of copy_bytes, those that were read ahead of as they were copied, since "
		 "their source was cold; of reads and page faults nothing is counted here")
WILLNEED_COUNTER(covered_bytes,
		 "of demand_bytes, those that had been asked for before the copy came to "
		 "their piece (coverage)")
WILLNEED_COUNTER(late_bytes,
		 "of covered_bytes, those that had not arrived when the copy came to their "
		 "piece, as far as the helper knew (timeliness)")
WILLNEED_COUNTER(unused_bytes,
		 "of asked_bytes, those ahead of a reader that ended before it came to them "
		 "(accuracy)")
WILLNEED_COUNTER(asked_bytes, "bytes asked of the kernel: the sum of the next four")
WILLNEED_COUNTER(inline_bytes, "of asked_bytes, those asked by the program's own threads")
WILLNEED_COUNTER(ride_bytes,
		 "of asked_bytes, those asked by riding the kernel's readahead")
WILLNEED_COUNTER(advise_bytes,
		 "of asked_bytes, those asked by the helper's advice on a descriptor")
WILLNEED_COUNTER(address_bytes,
		 "of asked_bytes, those asked by the helper's advice on an address")
WILLNEED_COUNTER(duplicate_bytes,
		 "bytes not asked for, and in none of the others, because they had been a "
		 "moment ago")
WILLNEED_COUNTER(denied_bytes, "bytes not asked for because the budget was spent")
WILLNEED_COUNTER(kernel_calls, "system calls made to ask for pages")
WILLNEED_COUNTER(orders, "orders given to the engine")
WILLNEED_COUNTER(streams,
		 "ways upward through a file, each made of copies that follow each other")
WILLNEED_COUNTER(major_faults, "major faults taken by large copies out of a watched mapping")
WILLNEED_COUNTER(watched_faults, "page faults of plain loads in a watched mapping that were seen")
WILLNEED_COUNTER(walks,
		 "ways through a file made of page faults, of reads, or of copies that go "
		 "down, that were read ahead of")
WILLNEED_COUNTER(walk_bytes, "of asked_bytes, those ahead of such ways")
WILLNEED_COUNTER(ride_falls, "rides given up for advice")
WILLNEED_COUNTER(records_lost, "access records lost because the helper was behind")
WILLNEED_COUNTER(helper_starts, "helper threads started")
WILLNEED_COUNTER(helper_cpu_us, "processor time of helper threads, in microseconds")
WILLNEED_COUNTER(facility_failures, "optional kernel facilities found missing or failing")
WILLNEED_COUNTER(advice_calls, "times that the program asked for pages itself, by advice or a readahead call")
WILLNEED_COUNTER(advice_answered,
		 "of advice_calls, those that needed no call, since all had been asked for a "
		 "moment ago")
WILLNEED_COUNTER(dropped_bytes, "bytes dropped from the page cache behind uncached reads and writes")
WILLNEED_COUNTER(drop_calls, "system calls made to drop them")
WILLNEED_COUNTER(reads_cold, "reads through descriptors that were looked at and found to be cold, or asked for ahead")
WILLNEED_COUNTER(reads_told,
		 "of the reads that were looked at, those in some order, which the helper "
		 "was told of")
WILLNEED_COUNTER(led_bytes, "bytes read ahead of uncached readers, for the kernel to drop behind them")
WILLNEED_COUNTER(watch_looks, "times that the page table was looked at, where perf events are not to be had")
WILLNEED_COUNTER(wholes, "times that a file was fetched as a whole, since it is read in parts, one here and one there")
WILLNEED_COUNTER(whole_bytes, "of asked_bytes, those of files fetched as a whole")
