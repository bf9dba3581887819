import { z } from 'zod'

/** Definition of a configuration key. Flag, variable, help and file check are derived from it. */
export interface Setting<Value = unknown, Default extends Value | undefined = Value | undefined> {
  readonly schema: z.ZodType<Value>
  readonly default: Default
  readonly group: Group
  /** Description in one line. */
  readonly about: string
  /** Placeholder of the value in the help. If absent, the flag alone means true. */
  readonly placeholder?: string
  /** True if the flag may be repeated for more items. */
  readonly repeats?: true
  /** Reads the text of a flag or variable. Returns text that it cannot read unchanged, so that the schema refuses it. */
  readonly read: (text: string) => unknown
}

export const groups = [
  'What is served',
  'Where',
  'Who works',
  'Who may call',
  'Limits of a request',
  'Limits of a caller',
  'Streams',
  'Recorded requests',
  'Log',
] as const

export type Group = (typeof groups)[number]

interface About<Default> {
  readonly group: Group
  readonly about: string
  readonly default: Default
}

interface Range {
  readonly min?: number
  readonly max?: number
  readonly placeholder?: string
}

const largest = 2 ** 31 - 1

/** Defines a whole number. The maximum is that of Node timers; no size needs more. */
export function integer(about: About<number>, { min = 1, max = largest, placeholder = 'N' }: Range = {}): Setting<number, number> {
  const isInRange = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= min && Number(value) <= max
  return {
    ...about,
    placeholder,
    schema: z.custom<number>(isInRange, `must be a whole number from ${min} to ${max}`),
    read: (text) => (/^-?\d+$/.test(text) ? Number(text) : text),
  }
}

export const milliseconds = (about: About<number>, range: Range = {}): Setting<number, number> =>
  integer(about, { placeholder: 'MS', ...range })

export const bytes = (about: About<number>, range: Range = {}): Setting<number, number> =>
  integer(about, { placeholder: 'BYTES', ...range })

/** Defines a text. Messages of `schema` follow the name of the key. */
export function text<Default extends string | undefined>(
  about: About<Default>,
  placeholder: string,
  schema: z.ZodType<string> = z.string('must be a text').min(1, 'must not be empty'),
): Setting<string, Default> {
  return { ...about, placeholder, schema, read: (given) => given }
}

export function oneOf<const Value extends string>(
  values: readonly Value[],
  about: About<Value>,
  placeholder: string,
): Setting<Value, Value> {
  return { ...about, placeholder, schema: z.enum(values, `must be one of ${values.join(', ')}`), read: (given) => given }
}

/** Defines a list of texts. `faults` returns the faults of its items. */
export function list(
  about: About<readonly string[]>,
  placeholder: string,
  faults: (items: readonly string[]) => readonly string[] = () => [],
): Setting<readonly string[], readonly string[]> {
  const fault = 'must be a list of texts'
  return {
    ...about,
    placeholder: `${placeholder},…`,
    repeats: true,
    schema: z
      .array(z.string(fault).min(1, fault), fault)
      .superRefine((items, context) => faults(items).forEach((each) => context.addIssue(each))),
    read: (given) => given.split(',').map((item) => item.trim()),
  }
}

const truths: Readonly<Record<string, boolean>> = { true: true, false: false }

export function toggle(about: About<boolean>): Setting<boolean, boolean> {
  return { ...about, schema: z.boolean('must be true or false'), read: (given) => truths[given] ?? given }
}
