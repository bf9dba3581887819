import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import type { DurableContender } from '../../src/contender.ts'
import { openThreads } from './langgraph-durable.ts'

/** Same as on SQLite, with the saver for Postgres. */
export const contender: DurableContender = {
  async open(answers, url) {
    const saver = PostgresSaver.fromConnString(url)
    await saver.setup()
    return openThreads(answers, saver, {}, () => saver.end())
  },
}
