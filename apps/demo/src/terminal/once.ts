import { randomUUID } from 'node:crypto'
import { SessionError } from '@bowline/sessions'
import { SettingsError } from '../server/settings.ts'
import type { Environment } from '../server/settings.ts'
import { sessionKeyOf } from '../server/session-key.ts'
import { createDemo } from '../server/create-demo.ts'

/** One message, one answer, with the agent and the store of the page. Gives the exit code. */
export async function once(text: string, env: Environment): Promise<number> {
  try {
    const { runtime, choice } = await createDemo(env)
    if (choice.problem) console.error(choice.problem.message)
    await runtime.start({ keepAlive: true })
    try {
      const session = runtime.session(sessionKeyOf(`cli_${randomUUID()}`), { metadata: { title: text.slice(0, 80) } })
      const result = await (await session.send(text)).result()
      if (result.text !== '') console.log(result.text)
      if (result.status === 'completed') return 0
      console.error(result.status)
      if (result.error) console.error(result.error.message)
      return 1
    } finally {
      await runtime.stop()
    }
  } catch (error) {
    if (!(error instanceof SettingsError || SessionError.isInstance(error))) throw error
    console.error(SessionError.isInstance(error) && error.code === 'store-locked' ? `${error.message}\n${whenLocked}` : error.message)
    return 1
  }
}

const whenLocked = 'The demo is open in another process. Ask in its page, or take another folder with DEMO_DATA.'
