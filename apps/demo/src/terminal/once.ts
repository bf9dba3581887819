import { randomUUID } from 'node:crypto'
import { SettingsError } from '../server/settings.ts'
import type { Environment } from '../server/settings.ts'
import { connect } from './connect.ts'

/** Sends one message and prints the answer, with the agent and the store of the page. Returns the exit code. */
export async function once(text: string, env: Environment): Promise<number> {
  try {
    const connection = await connect(env)
    try {
      const { problem } = await connection.info()
      if (problem) console.error(problem.message)
      const session = connection.client.session(`cli_${randomUUID()}`)
      const result = await session.send(text, { metadata: { title: text.slice(0, 80) } }).result()
      if (result.text !== '') console.log(result.text)
      if (result.status === 'completed') return 0
      console.error(result.status)
      if (result.error) console.error(result.error.message)
      return 1
    } finally {
      await connection.close()
    }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    console.error(error.message)
    return 1
  }
}
