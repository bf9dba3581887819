import type { Clock } from '@bowline/llm'
import type { StateStore } from '@bowline/sessions'
import { kvStateStore } from '@bowline/sessions/kv'
import { redisStateStore } from '@bowline/sessions/redis'

/** Where the records of a state store are, as another process can be told. */
export type StatePlace =
  | { readonly kind: 'redis'; readonly url: string; readonly prefix: string }
  | { readonly kind: 'kv'; readonly url: string; readonly token: string; readonly prefix: string }

export function openStateAt(place: StatePlace, clock?: Clock): StateStore {
  const { kind, ...options } = place
  return kind === 'redis' ? redisStateStore({ ...options, ...(clock && { clock }) }) : kvStateStore({ ...options, ...(clock && { clock }) })
}
