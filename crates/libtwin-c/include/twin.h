/* When would a drive answer that is not here? Made by cbindgen from crates/libtwin-c: do not edit. */

#ifndef TWIN_H
#define TWIN_H

#include <stddef.h>
#include <stdint.h>

/*
 A read, for `twin_submit`.
 */
#define TWIN_READ 0

/*
 A write.
 */
#define TWIN_WRITE 1

/*
 A trim: nobody needs the bytes any more.
 */
#define TWIN_TRIM 2

/*
 What `twin_submit` and `twin_flush` return where `twin_error` says why not.
 */
#define TWIN_FAILED UINT64_MAX

/*
 A drive or volume that is played; one thread at a time may use it.
 */
typedef struct twin_t twin_t;

/*
 What a twin is, and how quick it is at best.
 */
typedef struct twin_description {
  /*
   As in `twin:NAME`.
   */
  const char *name;
  /*
   Name for people.
   */
  const char *title;
  /*
   Bytes that a user can store.
   */
  uint64_t capacity_bytes;
  /*
   Median time of a lone read of 4 KiB at random, ns.
   */
  uint64_t floor_read_ns;
  /*
   Median time of a lone write of 4 KiB at random, ns.
   */
  uint64_t floor_write_ns;
} twin_description;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Opens the twin of a file's text (TOML, as in the catalog, or JSON), `len` bytes long: a drive in its steady state. NULL where it
 cannot be played; `twin_error` says why. To be closed with `twin_close`.

 # Safety
 `text` points to `len` bytes that can be read.
 */
struct twin_t *twin_open(const char *text,
                         size_t len,
                         uint64_t seed);

/*
 The same of a drive of which a share `used` (0 to 1) holds data that was written once, in order; 0 is the steady state.

 # Safety
 As of `twin_open`.
 */
struct twin_t *twin_open_holding(const char *text,
                                 size_t len,
                                 uint64_t seed,
                                 double used);

/*
 Submits a request (`TWIN_READ`, `TWIN_WRITE`, `TWIN_TRIM`) that comes at `now_ns`; returns the moment at which it is answered, on
 the same clock. Requests come in order of time. `TWIN_FAILED` where there is no such request.

 # Safety
 `twin` was opened and is not closed.
 */
uint64_t twin_submit(struct twin_t *twin,
                     uint64_t now_ns,
                     uint32_t op,
                     uint64_t offset,
                     uint32_t bytes);

/*
 Submits a flush that comes at `now_ns`; returns the moment from which on the writes that were answered before it are durable.

 # Safety
 `twin` was opened and is not closed.
 */
uint64_t twin_flush(struct twin_t *twin,
                    uint64_t now_ns);

/*
 Makes the twin what it was when it was opened: the same requests have the same answers again.

 # Safety
 `twin` was opened and is not closed.
 */
void twin_reset(struct twin_t *twin);

/*
 What the twin is; valid until it is closed. NULL where there is none.

 # Safety
 `twin` was opened and is not closed.
 */
const struct twin_description *twin_describe(const struct twin_t *twin);

/*
 What went wrong last on this thread, in a sentence; NULL where nothing did. Valid until something else goes wrong.
 */
const char *twin_error(void);

/*
 Closes a twin; NULL is none.

 # Safety
 `twin` was opened, is not closed, and nobody uses it any more.
 */
void twin_close(struct twin_t *twin);

#ifdef __cplusplus
} // extern "C"
#endif // __cplusplus

#endif /* TWIN_H */
