import type { JSONObject } from '@bowline/llm'
import { parseStored } from '../../json.ts'
import { first, statement } from './statement.ts'
import type { Steps } from './statement.ts'

const bodyOf = statement((db, slots: { readonly namespace: string; readonly hash: string }) =>
  db.selectFrom('definition').select('body').where('namespace', '=', slots.namespace).where('hash', '=', slots.hash),
)

export function* readDefinition(namespace: string, hash: string): Steps<JSONObject | undefined> {
  const row = yield* first(bodyOf, { namespace, hash })
  return row && parseStored<JSONObject>(row.body, `The definition ${hash}`)
}
