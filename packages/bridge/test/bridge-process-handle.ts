import { fork } from 'node:child_process'
import { once } from 'node:events'
import { nodeFlags } from '../../../scripts/programs.ts'
import type { Order } from './fixtures/bridge-process.ts'
import { fixtureFile } from './programs.ts'
import { later } from './runtime-support.ts'

export interface BridgeProcess {
  /** Calls the bridge. Resolves with undefined if the process died before it answered. */
  ask<T>(method: Order['method'], input?: Order['input']): Promise<T | undefined>
  kill(): Promise<void>
}

/** Starts a bridge in its own process, which may kill itself at its n-th write. */
export async function bridgeProcess(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<BridgeProcess> {
  const child = fork(fixtureFile('fixtures/bridge-process'), args, { execArgv: [...nodeFlags], env: { ...process.env, ...env } })
  const exit = once(child, 'exit')
  later(async () => void (child.kill('SIGKILL') && (await exit)))
  const next = async <T>(): Promise<T | undefined> => {
    const message = once(child, 'message').then(([said]: unknown[]) => {
      const { answer, error } = said as { readonly answer?: T; readonly error?: string }
      if (error !== undefined) throw new Error(error)
      return answer
    })
    return Promise.race([message, exit.then(() => undefined)])
  }
  await next()
  return {
    ask: (method, input = {}) => {
      const answer = next<never>()
      child.send({ method, input } satisfies Order, () => {})
      return answer
    },
    kill: async () => {
      child.kill('SIGKILL')
      await exit
    },
  }
}
