import { join } from 'node:path'
import { createRuntime, type Runtime, type RuntimeOptions, type SessionStore } from '@bowline/sessions'
import { fileStore } from '@bowline/sessions/file'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { contenderAgent } from './contenders/bowline.ts'
import { functionModel } from './contenders/bowline-function.ts'
import { withTemporaryFolder } from './temporary-folder.ts'

/** Stores with their defaults: acknowledged data survives a loss of power if the store has a disk. */
const stores: Readonly<Record<string, (folder: string) => SessionStore>> = {
  memory: () => memoryStore(),
  file: (folder) => fileStore({ dir: folder }),
  sqlite: (folder) => sqliteStore({ file: join(folder, 'bench.sqlite') }),
}

export const storeNames: readonly string[] = Object.keys(stores)

const answers = [{ text: 20 }]

/** Creates a runtime with a new store of this name. Its agent answers in 20 text deltas. */
export async function withRuntime<T>(
  name: string,
  work: (runtime: Runtime) => Promise<T>,
  options: Partial<RuntimeOptions> = {},
): Promise<T> {
  return withTemporaryFolder(async (folder) => {
    const store = stores[name]?.(folder)
    if (!store) throw new Error(`There is no store ${name}`)
    const runtime = createRuntime({ agents: [contenderAgent(functionModel(answers), answers.length)], store, ...options })
    try {
      await runtime.start({ keepAlive: true })
      return await work(runtime)
    } finally {
      await runtime.stop()
    }
  })
}

/** Sends one input to each of this number of new sessions concurrently, and waits until all are answered. */
export async function runAtOnce(runtime: Runtime, name: string, count: number): Promise<void> {
  const runs = await Promise.all(Array.from({ length: count }, (_, index) => runtime.session(`${name}:${index}`).send('go')))
  const results = await Promise.all(runs.map((run) => run.result()))
  const failed = results.find(({ status }) => status !== 'completed')
  if (failed) throw new Error(`A run ended ${failed.status}`)
}
