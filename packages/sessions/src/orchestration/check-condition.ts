import { closest, describeValue, needed, shortened, type ArgumentCheck, type FieldChecks } from '@bowline/llm/arguments'
import { checksFor, sentence } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import type { Predicates, Condition } from './types.ts'

const prefix = 'The orchestration cannot be used: '

/** Checks of a configuration: its steps and their conditions. */
export const planChecks = checksFor('invalid-config', prefix)

export function refusal(message: string): SessionError {
  return new SessionError('invalid-config', sentence(`${prefix}${message}`))
}

type Typed = Extract<Condition, { readonly type: string }>
type Fields<Type extends Typed['type']> = Omit<Extract<Typed, { readonly type: Type }>, 'type'>

const count = planChecks.whole(0)
const between = { min: count, max: count }
const anything: ArgumentCheck = () => undefined

function someNames(path: string, value: unknown): void {
  planChecks.checkRequired(path, value, 'a list with at least one name', (given) => Array.isArray(given) && given.length > 0)
  planChecks.listOf(planChecks.checkName)(path, value)
}

/** Fields of each type of condition, without `type`. */
const fields: { readonly [Type in Typed['type']]: FieldChecks<Fields<Type>> } = {
  tool_used: { value: planChecks.checkName, since: planChecks.oneOf('step') },
  tool_not_used: { value: planChecks.checkName, within: count },
  tool_count: { value: planChecks.checkName, ...between },
  step_is: { value: planChecks.checkName },
  message_contains: { value: planChecks.checkName },
  sequence_match: { value: planChecks.optional(someNames) },
  sequence_done: {},
  tokens: between,
  turns: between,
  predicate: { name: planChecks.checkName, args: anything },
}

/** Checks a condition. Throws `invalid-config` with the path of the fault. */
export function checkCondition(condition: Condition, place: string, predicates: Predicates): void {
  planChecks.checkObject(place, condition)
  if (condition === undefined) throw refusal(`${place} must be an object; received undefined`)
  const combination = (['all', 'any', 'not'] as const).find((key) => key in condition)
  if (combination) return checkCombination(combination, condition, place, predicates)
  const { type } = condition as Typed
  checkType(`${place}.type`, type, predicates)
  planChecks.record<Readonly<Record<string, unknown>>>({ type: anything, ...fields[type] })(place, condition)
  if (type === 'predicate') checkPredicate(condition as Extract<Typed, { type: 'predicate' }>, place, predicates)
}

function checkCombination(combination: 'all' | 'any' | 'not', condition: Condition, place: string, predicates: Predicates): void {
  planChecks.checkKeys(place, condition, [combination])
  const below = (condition as Readonly<Record<string, unknown>>)[combination]
  if (combination === 'not') return checkCondition(below as Condition, `${place}.not`, predicates)
  planChecks.checkRequired(`${place}.${combination}`, below, 'a list', Array.isArray)
  for (const [index, each] of (below as readonly Condition[]).entries())
    checkCondition(each, `${place}.${combination}[${index}]`, predicates)
}

function checkType(place: string, type: unknown, predicates: Predicates): void {
  if (typeof type === 'string' && Object.hasOwn(fields, type)) return
  const [types, registered] = [Object.keys(fields), Object.keys(predicates)]
  const also = registered.length === 0 ? '' : ` (registered predicates: ${registered.join(', ')})`
  const received = typeof type === 'string' && type !== '' ? JSON.stringify(shortened(type)) : describeValue(needed(type))
  const meant = typeof type === 'string' ? closest(shortened(type), [...types, ...registered]) : undefined
  const written = meant === undefined || types.includes(meant) ? meant : `{ type: 'predicate', name: ${JSON.stringify(meant)} }`
  throw refusal(
    `${place} must be one of ${types.join(', ')}${also}; received ${received}${written === undefined ? '' : `; did you mean ${written}?`}`,
  )
}

function checkPredicate({ name: predicate }: Extract<Typed, { type: 'predicate' }>, place: string, predicates: Predicates): void {
  if (Object.hasOwn(predicates, predicate)) return
  const known = Object.keys(predicates)
  const there = known.length === 0 ? 'none is registered' : `registered are: ${known.join(', ')}`
  throw refusal(`${place}.name is not a registered predicate: ${JSON.stringify(predicate)}; ${there}`)
}
