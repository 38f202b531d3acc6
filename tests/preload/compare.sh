#!/bin/sh
# SPDX-License-Identifier: MIT
# Real programs: output, errors and exit status are the same with and without the library.

# shellcheck source=tests/preload/preload.sh
# shellcheck disable=SC2016  # programs for other shells stand in single quotes
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 100
make_file "$scratch/big" 24
big=$scratch/big
cd "$scratch" || exit 99

# tool NAME DESCRIPTION COMMAND...: only where the tool is.
tool()
{
	if have "$1"; then
		shift
		wcmp "$@"
	else
		skip "$2" "no $1"
	fi
}

wcmp "true" true
wcmp "false" false
wcmp "an empty environment" env -i true
wcmp "ls /proc/self/fd" ls /proc/self/fd
wcmp "a signal's status" sh -c 'kill -SEGV $$'
wcmp "status 77" sh -c 'exit 77'
wcmp "cat" cat "$big"
wcmp "sha256sum" sha256sum "$big"
wcmp "cmp" cmp "$big" "$scratch/nothing"
wcmp "od" sh -c "od -A x -t x8 $big | cksum"
wcmp "sort" sh -c "od -t x1 -N 1000000 $big | sort | cksum"
wcmp "grep" sh -c "grep -c -a a $big; grep -q -r printf /usr/include/stdio.h"
wcmp "dd, with odd sizes" dd if="$big" bs=12345 count=99 skip=7 status=none
wcmp "dd, direct" sh -c "dd if=$big bs=1M iflag=direct status=none | cksum"
wcmp "tail" tail -c 99999 "$big"
wcmp "cp, then cmp" sh -c "cp $big copy && cmp $big copy && rm copy"
wcmp "a message on stderr" ls /nonexistent/file
wcmp "find" sh -c 'find /usr/include -name "s*.h" | sort | cksum'
wcmp "few descriptors" sh -c 'ulimit -n 4; cat /etc/passwd'
wcmp "no descriptor" sh -c 'exec 0<&- 1>&- 2>&-; cat /etc/passwd; exit $?'
wcmp "a pipeline" sh -c "cat $big | head -c 1000000 | tail -c 3 | od; exit 3"
wcmp "full disk" sh -c 'cat /etc/passwd >/dev/full'
tool tar "tar" sh -c 'tar cf - -C /usr/include . 2>/dev/null | cksum'
tool xz "xz" sh -c "head -c 2000000 $big | xz -T2 | xz -d | cksum"
tool gzip "gzip" sh -c "head -c 2000000 $big | gzip -n | cksum"
tool awk "awk" awk 'BEGIN { for (i = 0; i < 99999; i++) s += i * i; print s }'
tool bash "bash" bash -c 'exec 3</etc/passwd; read -u 3 x; echo $x; echo {1..9999} | cksum
	for i in {1..50}; do (exit $i); echo $?; done; wait; cat <(echo a) <(echo b)'
tool perl "perl" perl -e 'open F, "<", $ARGV[0]; binmode F; read F, $x, 9e6; print unpack("%32C*", $x);
	for (1..20) { my $p = fork; exit 3 if !$p; waitpid $p, 0; print $? }' "$big"
tool sqlite3 "sqlite3" sh -c "rm -f x.db; sqlite3 x.db 'pragma mmap_size=99999999;
	create table t(a, b); with recursive c(x) as (select 1 union all select x+1 from c
	where x < 20000) insert into t select x, hex(zeroblob(100)) from c;
	select count(*), sum(a) from t; pragma integrity_check'; cksum <x.db"
tool git "git" sh -c 'rm -rf r && mkdir r && cd r && git init -q . && echo a >a && git add a &&
	git status --porcelain && git ls-files -s'
tool strings "strings" sh -c "strings $big | cksum"
tool file "file" file -b "$big" /bin/sh
tool openssl "openssl" openssl dgst -sha1 "$big"
tool gdb "gdb" sh -c "gdb -batch -ex 'break exit' -ex run -ex 'info threads' /bin/true 2>&1 |
	sed 's/process [0-9]*//g; s/0x[0-9a-f]*//g; s/LWP [0-9]*//g; s/  */ /g'"
tool valgrind "valgrind: nothing is allocated" valgrind -q --leak-check=full \
	--show-reachable=yes --error-exitcode=9 /bin/true
tool faketime "faketime" faketime '2020-01-01 00:00:00' date +%Y
tool unshare "unshare" unshare -Ur id -u

if have node; then
	cat >t.js <<-'END'
	const fs = require("fs"), crypto = require("crypto"), path = process.argv[2];
	const hash = (d) => crypto.createHash("sha256").update(d).digest("hex");
	console.log(hash(fs.readFileSync(path)));
	Promise.all(Array.from({ length: 20 }, () => fs.promises.readFile(path))).then((all) => {
		console.log(new Set(all.map(hash)).size);
		fs.createReadStream(path).on("data", () => 0).on("end", () => process.exit(4));
	});
	END
	wcmp "node" node t.js "$big"
	wcmp "node, with io_uring" UV_USE_IO_URING=1 node t.js "$big"
else
	skip "node" "not installed"
fi

if have java && have javac; then
	cat >T.java <<-'END'
	import java.nio.*; import java.nio.channels.*; import java.nio.file.*;
	public class T {
		public static void main(String[] a) throws Exception {
			try (FileChannel c = FileChannel.open(Path.of(a[0]))) {
				MappedByteBuffer m = c.map(FileChannel.MapMode.READ_ONLY, 0, c.size());
				byte[] b = new byte[4 << 20];
				long sum = 0;
				for (int pass = 0; pass < 3; pass++) {
					m.rewind();
					while (m.remaining() >= b.length) {
						m.get(b);
						for (byte x : b) sum = sum * 31 + x;
						byte[] garbage = new byte[8 << 20];
						sum += garbage.length;
					}
				}
				System.out.println(sum);
			}
		}
	}
	END
	javac T.java >"$tmp/javac.log" 2>&1
	"$tmp/file" chill "$big"
	wcmp "java: a mapped file and a busy collector" java -Xmx64m -XX:+UseSerialGC T "$big"
else
	skip "java" "not installed"
fi

# The system's Python, not one that a user keeps.
python=/usr/bin/python3
if [ -x $python ]; then
	cat >t.py <<-'END'
	import hashlib, mmap, multiprocessing, os, subprocess, sys, threading
	path = sys.argv[1]
	with open(path, "rb") as f:
		m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
	print(hashlib.sha256(m[:]).hexdigest(), hashlib.sha256(m).hexdigest())
	print(hashlib.sha256(m[5 << 20:9 << 20]).hexdigest())
	def work(k):
		return hashlib.sha256(m[k << 20:(k + 3) << 20]).hexdigest()
	out = {}
	ts = [threading.Thread(target=lambda k=k: out.update({k: work(k)})) for k in range(8)]
	[t.start() for t in ts]
	[t.join() for t in ts]
	print(sorted(out.items()))
	with multiprocessing.get_context("fork").Pool(3) as p:
		print(p.map(work, range(6)))
	print(subprocess.run(["sh", "-c", "echo hi; exit 3"], capture_output=True))
	print(subprocess.run(["cksum", path], capture_output=True, close_fds=True).stdout)
	try:
		m[0] = 1
	except TypeError as e:
		print(e)
	m.close()
	sys.stderr.write("done\n")
	os._exit(7)
	END
	"$tmp/file" chill "$big"
	wcmp "python3: mmap, threads, processes" $python t.py "$big"
	helped "python3: a cold mapping" sh -c "$tmp/file chill $big; exec $python -c '
import mmap, sys
f = open(\"$big\", \"rb\")
m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
for k in range(24): m[k << 20:(k + 1) << 20]'"
else
	skip "python3" "no $python"
fi

# The loader, started by name, and libc, which can be run itself.
interpreter=$(readelf -lW /bin/true 2>/dev/null | sed -n 's/.*interpreter: \([^]]*\)].*/\1/p')
libc=$(ldd /bin/true | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')
if [ -x "$interpreter" ]; then
	wcmp "the loader, started by name" "$interpreter" /bin/echo hello
	wcmp "the loader's --list" sh -c "$interpreter --list /bin/true | grep -c libc"
else
	skip "the loader, started by name" "readelf does not tell which it is"
fi
if [ -x "$libc" ]; then
	wcmp "libc, started by name" "$libc"
else
	skip "libc, started by name" "it cannot be executed"
fi
for name in LD_BIND_NOW=1 LD_BIND_NOT=1 MALLOC_PERTURB_=85; do
	wcmp "$name" $name sh -c "cat $big | cksum"
done
wcmp "ldd" sh -c 'ldd /bin/true >/dev/null'
wcmp "a stripped environment for children" sh -c 'env -i /bin/echo a; env -u LD_PRELOAD true'
finish
