import { redactText } from '../../redact.ts'

const maxCharacters = 200

interface FailedStart {
  readonly stderr: string
  /** A module of ours was run, which must call `serveWorker`. */
  readonly isEntry: boolean
}

/** Why a worker did not become ready, with the error that its stderr shows, or with what is probably missing. */
export function startFailure(loss: string, { stderr, isEntry }: FailedStart): string {
  const words = lastError(stderr)
  if (words !== undefined) return `${loss}: ${words}`
  if (loss.startsWith('could not be started')) return loss
  const missing = isEntry ? 'does the entry call serveWorker?' : 'does it speak the Agent Client Protocol on stdin and stdout?'
  return `${loss}: ${missing}`
}

/** The first line of the last error, without the stack. */
function lastError(stderr: string): string | undefined {
  const lines = redactText(stderr).split('\n').map((line) => line.trim())
  const line = lines.findLast((each) => /^(?:Uncaught )?(?:\[?[A-Za-z]*(?:Error|Exception))\b.*:/.test(each))
  return line?.slice(0, maxCharacters)
}
