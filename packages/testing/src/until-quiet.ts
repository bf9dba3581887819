const mostRounds = 10_000

/** Names of the resources that keep the process busy without a timer. */
const busy = /^(Immediate|FSReq|FileHandle|CloseReq)/

/** Resolves when nothing more happens in this process until a timer fires or the store is called. */
export async function untilQuiet(): Promise<void> {
  for (let round = 0; round < mostRounds; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    if (!process.getActiveResourcesInfo().some((resource) => busy.test(resource))) return
  }
}
