const mostRounds = 10_000

/** What keeps the process busy without a timer: it goes on by itself. */
const busy = /^(Immediate|FSReq|FileHandle)/

/** Resolves when nothing happens any more in this process until a timer fires or the store is asked. */
export async function untilQuiet(): Promise<void> {
  for (let round = 0; round < mostRounds; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    if (!process.getActiveResourcesInfo().some((resource) => busy.test(resource))) return
  }
}
