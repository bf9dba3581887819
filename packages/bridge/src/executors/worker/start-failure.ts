import { standardRedaction } from '../../redact.ts'

const maxCharacters = 200

interface FailedStart {
  readonly stderr: string
  /** A module of ours was run, which must call `serveWorker`. */
  readonly isEntry: boolean
  /** Returns which folder or file is not there. */
  readonly missing: () => string | undefined
}

/** Why a worker did not become ready, with the error that its stderr shows, or with what is probably missing. */
export function startFailure(loss: string, { stderr, isEntry, missing }: FailedStart): string {
  if (loss.startsWith('could not be started')) return loss
  const absent = missing()
  if (absent !== undefined) return `could not be started: ${absent}`
  const words = lastError(stderr)
  if (words !== undefined) return `${loss}: ${words}`
  if (loss.startsWith('ended by')) return loss
  return `${loss}: ${isEntry ? 'does the entry call serveWorker?' : 'does it speak the Agent Client Protocol on stdin and stdout?'}`
}

/** The first line of the last error, without the stack. */
function lastError(stderr: string): string | undefined {
  const lines = standardRedaction.text(stderr).split('\n').map((line) => line.trim())
  const line = lines.findLast((each) => /^(?:Uncaught )?(?:\[?[A-Za-z]*(?:Error|Exception))\b.*:/.test(each))
  return line?.slice(0, maxCharacters)
}
