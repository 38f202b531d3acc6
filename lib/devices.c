/* SPDX-License-Identifier: MIT */
#include "devices.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/sys.h"

/* Files are opened in bursts; who sets a device's limits waits longer than that. */
#define KEPT_NS 1000000000u

static const struct wn_device *find(const struct wn_devices *t, uint64_t dev)
{
	for (int i = 0; i < WN_DEVICES; i++)
		if (wn_load_acquire(&t->slot[i].dev) == dev + 1)
			return &t->slot[i];
	return NULL;
}

static bool is_fresh(const struct wn_device *d, uint64_t now_ns)
{
	return d && now_ns - wn_load(&d->learned_ns) < KEPT_NS;
}

struct wn_device_limits wn_devices_learn(struct wn_devices *t, uint64_t dev, uint64_t now_ns)
{
	const struct wn_device *known = find(t, dev);
	struct wn_device_limits l;
	struct wn_device *d;

	if (is_fresh(known, now_ns))
		return (struct wn_device_limits){ known->readahead, known->request };
	l = wn_device_limits((dev_t)dev);
	d = &t->slot[known ? known - t->slot : t->turn++ % WN_DEVICES];
	if (d->dev != dev + 1)
		wn_store(&d->dev, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	wn_store(&d->readahead, l.readahead);
	wn_store(&d->request, l.request);
	wn_store(&d->learned_ns, now_ns);
	wn_store_release(&d->dev, dev + 1);
	return l;
}

uint64_t wn_devices_chunk(const struct wn_device_limits *l)
{
	uint64_t chunk = wn_max(l->readahead, l->request);

	if (!chunk)
		chunk = WN_SOME_WINDOW;
	return wn_max(wn_round_down(chunk, wn_page_size()), wn_page_size());
}

void wn_devices_note(struct wn_file *f, const struct wn_device_limits *l, uint64_t wide)
{
	wn_store(&f->kernel_window, (uint32_t)wn_min(l->readahead, UINT32_MAX));
	wn_store(&f->chunk, (uint32_t)wn_min(wn_devices_chunk(l), UINT32_MAX));
	wn_store(&f->wide, l->readahead >= wide);
}

void wn_devices_meet(const struct wn_devices *t, struct wn_file *f, uint64_t wide)
{
	const struct wn_device *d = wn_load(&f->chunk) ? NULL : find(t, wn_load(&f->dev));
	struct wn_device_limits l;

	if (!d || !is_fresh(d, wn_sys->now_ns()))
		return;
	l.readahead = wn_load(&d->readahead);
	l.request = wn_load(&d->request);
	wn_devices_note(f, &l, wide);
}
