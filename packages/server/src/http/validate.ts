import { z } from '@hono/zod-openapi'
import { suggestion } from '@bowline/llm/arguments'
import { faulty, type Fault } from '../problems.ts'

type Issue = z.core.$ZodIssue

/**
 * Returns the parsed value, or throws a problem that names each invalid place. `place` is the path of the value. A value that is
 * not part of another has a name instead.
 */
export function validate<T>(
  schema: z.ZodType<T>,
  value: unknown,
  code: 'invalid-body' | 'invalid-query',
  place: readonly PropertyKey[] = [],
  root = code === 'invalid-body' ? 'body' : 'query',
): T {
  const result = schema.safeParse(value, { error: unknownKeys })
  if (result.success) return result.data
  throw faulty(
    code,
    result.error.issues.flatMap((issue) => faultsOf(issue, place)),
    { root },
  )
}

/** Returns a sentence for each unknown key, one per line. Only the first keys are compared with the known ones. */
function unknownKeys({ code, keys, inst }: z.core.$ZodRawIssue): string | undefined {
  if (code !== 'unrecognized_keys') return undefined
  const known = inst instanceof z.ZodObject ? Object.keys(inst.shape) : []
  const sentenceOf = (key: string): string => `This key is not known here${suggestion(key, known) || '.'}`
  return (keys as readonly string[]).slice(0, maxKeys).map(sentenceOf).join('\n')
}

/** Maximum number of unknown keys in a problem. */
const maxKeys = 20

function faultsOf(issue: Issue, parent: readonly PropertyKey[]): readonly Fault[] {
  const path = [...parent, ...issue.path]
  if (issue.code === 'invalid_union') {
    const nearest = nearestAlternative(issue.errors)
    if (nearest) return nearest.flatMap((each) => faultsOf(each, path))
  }
  if (issue.code === 'unrecognized_keys') {
    const sentences = issue.message.split('\n')
    return issue.keys.map((key, place) => ({ path: z.core.toDotPath([...path, key]), message: sentences[place] ?? '' }))
  }
  return [{ path: z.core.toDotPath(path), message: issue.message }]
}

/** Returns the faults of the best matching variant of a union: the one with the deepest faults, then with the fewest. */
function nearestAlternative(alternatives: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const depth = (issues: readonly Issue[]): number => Math.min(...issues.map((issue) => (isOtherKind(issue) ? 0 : 1)))
  return [...alternatives]
    .filter((issues) => issues.length > 0)
    .sort((left, right) => depth(right) - depth(left) || left.length - right.length)[0]
}

/** Returns true if the value has a different type. */
function isOtherKind(issue: Issue): boolean {
  if (issue.path.length > 0) return false
  return (
    issue.code === 'invalid_type' || (issue.code === 'invalid_union' && issue.errors.every((alternative) => alternative.some(isOtherKind)))
  )
}
