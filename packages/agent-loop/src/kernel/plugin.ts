import { refuseConfig } from '../base/checks.ts'
import type { MaybePromise } from '../base/promises.ts'
import type { Delegation } from './call.ts'
import type { HookList, HookName, Hooks, Plugins, SubjectOf, Turn } from './turn.ts'

/** A feature of an agent. It takes part in a turn through its hooks, and knows no other feature. */
export interface Plugin {
  readonly name: string
  readonly hooks: Partial<Hooks>
  /** Hooks that run the user's code, always or for some subjects. */
  readonly foreign?: { readonly [Name in HookName]?: true | ((subject: SubjectOf<Name>) => boolean) }
  readonly delegation?: Delegation<Turn>
}

const hookNames = Object.keys({
  open: 0,
  fingerprint: 0,
  input: 0,
  prompt: 0,
  begin: 0,
  instruct: 0,
  drain: 0,
  plan: 0,
  beforeStep: 0,
  beforeAttempt: 0,
  decide: 0,
  context: 0,
  request: 0,
  sent: 0,
  model: 0,
  count: 0,
  answer: 0,
  nextAttempt: 0,
  attemptEnd: 0,
  asked: 0,
  refuse: 0,
  reenter: 0,
  beforeCall: 0,
  beside: 0,
  report: 0,
  outcome: 0,
  settling: 0,
  results: 0,
  afterStep: 0,
  afterTurn: 0,
  discarding: 0,
  failing: 0,
  withdrawable: 0,
  beforeCompaction: 0,
  afterCompaction: 0,
  row: 0,
  ending: 0,
  changed: 0,
  onTurnStart: 0,
  onStepStart: 0,
  onAnswer: 0,
  onRetryStart: 0,
  onRetryEnd: 0,
  onCallSettled: 0,
  onStepEnd: 0,
  close: 0,
  onTurnEnd: 0,
  onSavePoint: 0,
  onSettled: 0,
  onEvent: 0,
  onDelta: 0,
} satisfies Record<HookName, 0>) as readonly HookName[]

/**
 * Sorts the hooks of an agent's plug-ins by name, in the order of the list. Throws `invalid-config` if two plug-ins have the same
 * name.
 */
export function compile(plugins: readonly Plugin[]): Plugins {
  const names = plugins.map(({ name }) => name)
  const twice = names.find((name, place) => names.indexOf(name) !== place)
  if (twice !== undefined) refuseConfig(`plugins has two plug-ins named "${twice}": rename one of them or leave it out`)
  const asked = new Map<HookName, Plugin[]>()
  for (const plugin of plugins) {
    for (const name of Object.keys(plugin.hooks) as HookName[])
      if (plugin.hooks[name]) asked.set(name, [...(asked.get(name) ?? []), plugin])
  }
  const lists = Object.fromEntries(hookNames.map((name) => [name, listOf(asked.get(name), name)]))
  return { ...(lists as unknown as Plugins), delegation: plugins.find(({ delegation }) => delegation)?.delegation }
}

const noHooks = { asks: [], foreign: undefined }

function listOf<Name extends HookName>(asked: readonly Plugin[] | undefined, name: Name): HookList<Name> {
  if (!asked) return noHooks
  const foreign = asked.map((plugin) => plugin.foreign?.[name] ?? false) as HookList<Name>['foreign']
  return {
    asks: asked.map(({ hooks }) => hooks[name] as Hooks[Name]),
    foreign: foreign?.some((each) => each !== false) ? foreign : undefined,
  }
}

/** Hooks that may return a value or a promise. */
type Asked = {
  [Name in HookName]: Hooks[Name] extends (turn: Turn, subject: never) => infer Said
    ? Said extends undefined | void
      ? never
      : Name
    : never
}[HookName]
type Said<Name extends HookName> = Exclude<Awaited<ReturnType<Hooks[Name]>>, void>

/** A `HookList` whose subject is not typed. The caller passes the subject that belongs to the hook's name. */
interface AnyList<Answer> {
  readonly asks: readonly ((turn: Turn, subject: unknown) => MaybePromise<Answer | undefined>)[]
  readonly foreign: readonly (boolean | ((subject: unknown) => boolean))[] | undefined
}

/**
 * Asks plug-ins until one answers. Stores the draft before it asks the user's code, so that a process that dies in that code loses
 * nothing of the turn. `isStored`: the caller has stored it.
 */
export function consult<Name extends Asked>(
  turn: Turn,
  name: Name,
  subject: SubjectOf<Name>,
  isStored = false,
): MaybePromise<Said<Name> | undefined> {
  const list = turn.plugins[name] as unknown as AnyList<Said<Name>>
  const { asks, foreign } = list
  if (foreign && !isStored) return askFrom(turn, list, subject, { place: 0, isStored })
  for (let place = 0; place < asks.length; place++) {
    const answer = asks[place]?.(turn, subject)
    if (answer === undefined) continue
    if (!(answer instanceof Promise)) return answer
    return answer.then((known) => (known === undefined ? askFrom(turn, list, subject, { place: place + 1, isStored: true }) : known))
  }
  return undefined
}

/** Returns whether asking these plug-ins runs the user's code. */
export function isForeign<Name extends HookName>({ foreign }: HookList<Name>, subject: SubjectOf<Name>): boolean {
  return foreign?.some((each) => (typeof each === 'boolean' ? each : each(subject))) ?? false
}

function askFrom<Answer>(
  turn: Turn,
  list: AnyList<Answer>,
  subject: unknown,
  from: { readonly place: number; readonly isStored: boolean },
): MaybePromise<Answer | undefined> {
  const { asks, foreign } = list
  const { isStored } = from
  for (let place = from.place; place < asks.length; place++) {
    if (!isStored) {
      const each = foreign?.[place]
      if (each === true || (each && each(subject))) return turn.commit().then(() => askFrom(turn, list, subject, { place, isStored: true }))
    }
    const answer = asks[place]?.(turn, subject)
    if (answer === undefined) continue
    if (!(answer instanceof Promise)) return answer
    return answer.then((known) => (known === undefined ? askFrom(turn, list, subject, { place: place + 1, isStored }) : known))
  }
  return undefined
}

let places = 0

/** Creates the state of one plug-in, one per turn, when the plug-in first looks at the turn. Returns a function that finds it. */
export function turnState<State extends object>(make: (turn: Turn) => State): (turn: Turn) => State {
  const place = places++
  return (turn) => (turn.states[place] ??= make(turn)) as State
}
