import { readFileSync } from 'node:fs'
import { Session, type Profiler } from 'node:inspector'
import { fileURLToPath } from 'node:url'

/** A function of a package, and the number of its calls. */
export interface CountedFunction {
  /** Path below `packages`. */
  readonly file: string
  readonly line: number
  readonly name: string
  /**
   * Entries into the function. A call enters an async function or a generator once; each await or yield that it returns from enters
   * it again.
   */
  readonly calls: number
}

/** The keys are the places of the functions. A closure that is made many times is one function. */
export type CallCounts = ReadonlyMap<string, CountedFunction>

const packageFile = /\/packages\/(?<file>[^/]+\/(?:src|test)\/.+)$/

/**
 * Counts the calls of every function of this process until it ends. The counts are exact: V8 then runs no optimized code, so it inlines
 * nothing. With `detailed: true` it would, and lose calls.
 *
 * Returns a function that gives the calls since its last call.
 */
export function countCalls(): () => CallCounts {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return () => new Map(takeCoverage(session).flatMap(countsOf))
}

/** A session of the same thread answers before `post` returns. */
function takeCoverage(session: Session): readonly Profiler.ScriptCoverage[] {
  const answers: Profiler.ScriptCoverage[][] = []
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error) throw error
    answers.push(result)
  })
  const [answer] = answers
  if (!answer) throw new Error('The inspector has not answered at once')
  return answer
}

function countsOf({ url, functions }: Profiler.ScriptCoverage): [string, CountedFunction][] {
  if (!packageFile.test(url)) return []
  return functions.flatMap(({ functionName, ranges: [range] }) => {
    if (!range || range.count === 0) return []
    const place = placeOf(url, range.startOffset)
    return [[`${place.file}:${range.startOffset}`, { ...place, name: functionName || '(anonymous)', calls: range.count }]]
  })
}

type Place = Pick<CountedFunction, 'file' | 'line'>
const places = new Map<string, Place>()

/**
 * Finds the line of an offset; the source is read once per place. Types are stripped in place, so an offset in the program is the
 * same in its source.
 */
function placeOf(url: string, offset: number): Place {
  const key = `${url}:${offset}`
  const known = places.get(key)
  if (known) return known
  const line = readFileSync(fileURLToPath(url), 'utf8').slice(0, offset).split('\n').length
  const place = { file: packageFile.exec(url)?.groups?.['file'] ?? url, line }
  places.set(key, place)
  return place
}
