import { flushCompileCache } from 'node:module'
import { SessionError } from '@bowline/sessions'
import { isPortTaken } from './port-taken.ts'
import { refusedExitCode } from './process-messages.ts'
import type { ServerMessage, ServerProcess, SupervisorMessage } from './process-messages.ts'
import { SettingsError } from './settings.ts'
import { startServer } from './start-server.ts'

const drainMs = 300
const farewellMs = 5000

let processes: readonly ServerProcess[] = []
const registered = Promise.withResolvers<void>()
process.on('message', (message: SupervisorMessage) => {
  if (message.type === 'processes') processes = message.processes
  else registered.resolve()
})
// Without a supervisor the process ends, and it closes only what it has started.
process.once('disconnect', registered.resolve)
const register = (workerUrl: string): Promise<void> => {
  tell({ type: 'listening', workerUrl })
  return registered.promise
}
const starting = startServer(process.env, { processes: () => processes, register })
endWithSupervisor()

try {
  const { url, runtimeId } = await starting
  tell({ type: 'ready', url, runtimeId })
  // Writes the compile cache now: a killed server would leave no compiled code to the next one.
  flushCompileCache()
} catch (error) {
  const refusal = refusalOf(error)
  if (!refusal) throw error
  process.exitCode = refusedExitCode
  tell(refusal)
  process.disconnect?.()
}

/** Ends the server when the channel closes: the supervisor has then ended in some way. The supervisor handles Ctrl+C. */
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
  if (SessionError.isInstance(error))
    return {
      type: 'refused',
      reason: 'store',
      message: `${nameOfStore()}${error.message} (${error.code})`,
      passing: error.code === 'store-unavailable',
    }
  return isPortTaken(error) ? { type: 'refused', reason: 'port-taken', message: error.message } : undefined
}

/** Returns an empty text for the default store. It never returns the value, which may hold a password. */
function nameOfStore(): string {
  return process.env.DEMO_STORE ? 'DEMO_STORE: ' : ''
}

function tell(message: ServerMessage): void {
  // The supervisor may have ended during the start.
  if (process.connected) process.send?.(message)
}
