import type { JSONSchema7 } from '@ai-sdk/provider'
import { isRecord, toJsonValue } from '../json.ts'
import type { JSONValue } from '../messages.ts'
import type { ToolSchema } from './tool-schema.ts'

/** Checks plain JSON Schema. Keywords that the checker cannot hold are left out of the check and named. */
export async function checkerOf(schema: JSONSchema7): Promise<Pick<ToolSchema, 'validate' | 'unchecked'>> {
  const { z } = await import('zod')
  const unchecked = new Set<string>()
  const checkable = withoutUncheckable(schema, definitionsOf(schema), unchecked)
  const checker = z.fromJSONSchema(checkable as Parameters<typeof z.fromJSONSchema>[0], {
    defaultTarget: draftOf(schema),
  })
  return {
    unchecked: [...unchecked].sort(),
    async validate(value) {
      const result = await checker.safeParseAsync(toJsonValue(value))
      if (result.success) return { ok: true, value: result.data as JSONValue }
      return {
        ok: false,
        issues: result.error.issues.map(({ path, message }) => ({ path: path.map(String).join('.'), message })),
      }
    },
  }
}

const neverChecked = new Set([
  'if',
  'then',
  'else',
  'not',
  'unevaluatedItems',
  'unevaluatedProperties',
  'dependentSchemas',
  'dependentRequired',
  'dependencies',
])

/** Keywords below which names are the schema author's own and not keywords. */
const namedSchemas = new Set(['properties', 'patternProperties', '$defs', 'definitions'])
const plainData = new Set(['default', 'const', 'enum', 'examples'])

function withoutUncheckable(schema: unknown, definitions: Definitions, unchecked: Set<string>): unknown {
  if (Array.isArray(schema)) return schema.map((item) => withoutUncheckable(item, definitions, unchecked))
  if (!isRecord(schema)) return schema
  const kept = Object.entries(schema).filter(([keyword, value]) => {
    const checked = !neverChecked.has(keyword) && (keyword !== '$ref' || isLocal(value, definitions))
    if (!checked) unchecked.add(keyword)
    return checked
  })
  return Object.fromEntries(
    kept.map(([keyword, value]) => {
      if (plainData.has(keyword)) return [keyword, value]
      if (!namedSchemas.has(keyword) || !isRecord(value))
        return [keyword, withoutUncheckable(value, definitions, unchecked)]
      const named = Object.entries(value).map(([name, inner]) => [
        name,
        withoutUncheckable(inner, definitions, unchecked),
      ])
      return [keyword, Object.fromEntries(named)]
    }),
  )
}

/** Where the draft of a schema keeps its definitions, and their names. */
interface Definitions {
  readonly keyword: '$defs' | 'definitions'
  readonly names: ReadonlySet<string>
}

function draftOf(schema: JSONSchema7): 'draft-7' | 'draft-2020-12' {
  if (schema.$schema !== undefined) return /draft-0[467]/.test(schema.$schema) ? 'draft-7' : 'draft-2020-12'
  return schema.definitions && !schema.$defs ? 'draft-7' : 'draft-2020-12'
}

function definitionsOf(schema: JSONSchema7): Definitions {
  const keyword = draftOf(schema) === 'draft-7' ? 'definitions' : '$defs'
  return { keyword, names: new Set(Object.keys(schema[keyword] ?? {})) }
}

/** Whether a reference names the root or one of its definitions, the only ones that can be followed. */
function isLocal(reference: unknown, { keyword, names }: Definitions): boolean {
  if (reference === '#') return true
  const [, place, name] = typeof reference === 'string' ? (/^#\/([^/]+)\/([^/]+)$/.exec(reference) ?? []) : []
  return place === keyword && name !== undefined && names.has(name.replaceAll('~1', '/').replaceAll('~0', '~'))
}
