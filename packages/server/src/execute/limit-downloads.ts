import { ProblemError } from '../problems.ts'
import type { FileDownload } from './file-download.ts'

const maxAtOnce = 4
const maxWaiting = 1000

/** Limits concurrent downloads. Further ones wait until their caller aborts. */
export function limitDownloads(download: FileDownload): FileDownload {
  const waiting = new Set<() => void>()
  let free = maxAtOnce
  const enter = async (abortSignal: AbortSignal): Promise<void> => {
    abortSignal.throwIfAborted()
    if (free > 0) {
      free--
      return
    }
    if (waiting.size >= maxWaiting) throw new ProblemError('rate-limited', 'Too many downloads are pending. Retry later.')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const onAbort = (): void => {
      waiting.delete(resolve)
      reject(new Error('The request for the file was aborted.'))
    }
    waiting.add(resolve)
    abortSignal.addEventListener('abort', onAbort, { once: true })
    await promise.finally(() => abortSignal.removeEventListener('abort', onAbort))
  }
  const leave = (): void => {
    const [next] = waiting
    if (!next) {
      free++
      return
    }
    waiting.delete(next)
    next()
  }
  return async (url, abortSignal, maxBytes) => {
    await enter(abortSignal)
    try {
      return await download(url, abortSignal, maxBytes)
    } finally {
      leave()
    }
  }
}
