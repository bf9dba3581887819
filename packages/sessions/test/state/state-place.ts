import type { Clock } from '@bowline/llm'
import type { StateStore } from '@bowline/sessions'
import { kvStateStore } from '@bowline/redis/kv'
import { postgresStateStore } from '@bowline/postgres'
import { redisStateStore } from '@bowline/redis'
import { sqliteStateStore } from '@bowline/sessions/sqlite'

/** Place of a state store's records, in a form for other processes. */
export type StatePlace =
  | { readonly kind: 'redis'; readonly url: string; readonly prefix: string }
  | { readonly kind: 'kv'; readonly url: string; readonly token: string; readonly prefix: string }
  | { readonly kind: 'postgres'; readonly connectionString: string }
  | { readonly kind: 'sqlite'; readonly file: string }

export function openStateAt(place: StatePlace, clock?: Clock): StateStore {
  const given = clock && { clock }
  switch (place.kind) {
    case 'redis':
      return redisStateStore({ url: place.url, prefix: place.prefix, ...given })
    case 'kv':
      return kvStateStore({ url: place.url, token: place.token, prefix: place.prefix, ...given })
    case 'postgres':
      return postgresStateStore({ connectionString: place.connectionString, ...given })
    case 'sqlite':
      return sqliteStateStore({ file: place.file, ...given })
  }
}
