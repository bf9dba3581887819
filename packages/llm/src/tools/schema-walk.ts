import { isRecord } from '../arguments.ts'
import type { JSONValue } from '../messages.ts'
import type { SchemaIssue } from './schema-result.ts'

/** Maximum number of steps of one check, because even a small schema and a small value can take too long together. */
const maxSteps = 100_000
const maxIssues = 100
/** Instructions of a pattern, or characters of a text, per step. */
const perStep = 50

/** State of one check of one value: remaining steps, current path, and issues. */
export class SchemaWalk {
  #stepsLeft = maxSteps
  #issues: SchemaIssue[] = []
  readonly #path: (string | number)[] = []

  get issues(): readonly SchemaIssue[] {
    return this.#issues
  }

  /** Counts one step. Throws if the check exceeds its limit. */
  step(): void {
    this.#spend(1)
  }

  /** Counts the steps of work that grows with a text. */
  stepsOf(characters: number, instructions = 1): void {
    this.#spend(Math.ceil((characters * instructions) / perStep))
  }

  fail(message: string): void {
    if (this.#issues.length < maxIssues) this.#issues.push({ path: this.#path.join('.'), message })
  }

  /** Runs the work with the path one level deeper. */
  at<T>(place: string | number, work: () => T): T {
    this.#path.push(place)
    const result = work()
    this.#path.pop()
    return result
  }

  /** Runs the work and returns its issues instead of keeping them. */
  attempt<T>(work: () => T): { readonly result: T; readonly issues: readonly SchemaIssue[] } {
    const before = this.#issues
    this.#issues = []
    const result = work()
    const issues = this.#issues
    this.#issues = before
    return { result, issues }
  }

  /** Keeps the issues of an attempt. */
  keep(issues: readonly SchemaIssue[]): void {
    this.#issues.push(...issues.slice(0, maxIssues - this.#issues.length))
  }

  #spend(steps: number): void {
    this.#stepsLeft -= steps
    if (this.#stepsLeft < 0) throw new Error('The value is too large to be checked against this schema.')
  }
}

/** Returns equal texts for equal values, independent of key order. `walk` counts the work. */
export function canonical(value: JSONValue, walk?: SchemaWalk): string {
  walk?.step()
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item as JSONValue, walk)).join(',')}]`
  if (typeof value === 'string') walk?.stepsOf(value.length)
  if (!isRecord(value)) return JSON.stringify(value)
  const entries = Object.entries(value as Record<string, JSONValue>).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner, walk)}`).join(',')}}`
}
