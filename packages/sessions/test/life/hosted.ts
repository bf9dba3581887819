import { manualClock, type Step } from '@bowline/llm/testing'
import type { SessionStore, Wake } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { setup, type SetupOptions } from '../support.ts'

/** A message of the model that calls a tool without arguments. */
export const call = (name: string, id = 'c1'): Step => ({ toolCalls: [{ id, name, input: {} }] })

/** Creates a worker of a host. The store stays open when a worker ends. */
export async function hosted(options: SetupOptions & { readonly shared?: Awaited<ReturnType<typeof place>> }) {
  const { shared = await place(), ...given } = options
  const wakes: Wake[] = []
  const made = setup({ ...shared, timers: false, placement: 'host', onWake: (wake) => void wakes.push(wake), ...given })
  await made.runtime.start()
  const heard = (): Wake[] => wakes.splice(0)
  return { ...made, ...shared, shared, heard, session: made.runtime.session('room:1') }
}

/** Clock and store that several workers share. */
export async function place() {
  const clock = manualClock()
  const store = memoryStore()
  await store.open({ namespace: 'default', clock, owner: 'keeper' })
  return { clock, store: store as SessionStore }
}
