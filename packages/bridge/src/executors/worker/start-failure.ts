import { standardRedaction } from '../../redact.ts'

const maxCharacters = 200

interface FailedStart {
  readonly stderr: string
  /** Whether the program is a module that must call `serveWorker`. */
  readonly isEntry: boolean
  /** Returns the path of a missing folder or file. */
  readonly missing: () => string | undefined
}

/** Describes why a worker did not become ready: with the error in its stderr, or with the likely cause. */
export function startFailure(loss: string, { stderr, isEntry, missing }: FailedStart): string {
  if (loss.startsWith('could not be started')) return loss
  const absent = missing()
  if (absent !== undefined) return `could not be started: ${absent}`
  const words = lastError(stderr)
  if (words !== undefined) return `${loss}: ${words}`
  if (loss.startsWith('ended by')) return loss
  return `${loss}: ${isEntry ? 'does the entry call serveWorker?' : 'does it speak the Agent Client Protocol on stdin and stdout?'}`
}

/** Returns the first line of the last error, without the stack. */
function lastError(stderr: string): string | undefined {
  const lines = standardRedaction
    .text(stderr)
    .split('\n')
    .map((line) => line.trim())
  const line = lines.findLast((each) => /^(?:Uncaught )?(?:\[?[A-Za-z]*(?:Error|Exception))\b.*:/.test(each))
  return line?.slice(0, maxCharacters)
}
