import { SessionError } from '@bowline/sessions'
import { refusedExitCode } from './process-messages.ts'
import type { ServerMessage } from './process-messages.ts'
import { SettingsError } from './settings.ts'
import { startServer } from './start-server.ts'

const drainMs = 300
const farewellMs = 5000

const starting = startServer(process.env)
endWithSupervisor()

try {
  const { url } = await starting
  tell({ type: 'ready', url })
} catch (error) {
  const refusal = refusalOf(error)
  if (!refusal) throw error
  process.exitCode = refusedExitCode
  tell(refusal)
  process.disconnect?.()
}

/** The supervisor's end closes the channel, however it ended: no server stays behind. Ctrl+C is the supervisor's. */
function endWithSupervisor(): void {
  let ending = false
  const end = (): void => {
    if (ending) return
    ending = true
    setTimeout(() => process.exit(1), farewellMs).unref()
    starting
      .then((server) => server.close({ drainMs }))
      .then(
        () => process.exit(0),
        () => process.exit(),
      )
  }
  process.on('SIGINT', () => {})
  process.on('SIGTERM', end)
  process.on('disconnect', end)
}

function refusalOf(error: unknown): ServerMessage | undefined {
  if (error instanceof SettingsError) return { type: 'refused', reason: 'settings', message: error.message }
  if (SessionError.isInstance(error)) return { type: 'refused', reason: 'store', message: `${error.message} (${error.code})` }
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return { type: 'refused', reason: 'port-taken', message: error.message }
  }
  return undefined
}

function tell(message: ServerMessage): void {
  process.send?.(message)
}
