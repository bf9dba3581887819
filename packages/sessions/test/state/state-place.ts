import type { Clock } from '@bowline/llm'
import type { StateStore } from '@bowline/sessions'
import { redisStateStore } from '@bowline/sessions/redis'

/** Where the records of a state store are, as another process can be told. */
export interface StatePlace {
  readonly kind: 'redis'
  readonly url: string
  readonly prefix: string
}

export function openStateAt({ url, prefix }: StatePlace, clock?: Clock): StateStore {
  return redisStateStore({ url, prefix, ...(clock && { clock }) })
}
