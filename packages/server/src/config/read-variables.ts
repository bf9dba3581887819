import { closest } from '@bowline/llm/arguments'
import { readTexts, type Reading } from './given.ts'
import { settingKeys, variableOf } from './settings.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Variable that names the file, like `--config`. */
export const configVariable = 'BOWLINE_CONFIG'

const prefix = 'BOWLINE_'
/** Allows few mistakes: a variable of another program must not be reported as misspelled. */
const charactersPerMistake = 4

/** Reads the variables of all keys. An empty variable counts as absent. */
export function readVariables(environment: Environment, base: string): Reading {
  const texts = settingKeys.flatMap((key) => {
    const origin = variableOf(key)
    const text = environment[origin]
    return text === undefined || text === '' ? [] : [{ key, text, origin }]
  })
  return readTexts(texts, base)
}

/**
 * Returns variables that were probably meant for this command but are not read. Other variables with the prefix belong to other
 * programs: orchestrators derive them from the names of services.
 */
export function misspelledVariables(environment: Environment): readonly { readonly name: string; readonly meant: string }[] {
  const known = [...settingKeys.map(variableOf), configVariable]
  return Object.keys(environment).flatMap((name) => {
    if (!name.startsWith(prefix) || known.includes(name)) return []
    const meant = closest(
      name.slice(prefix.length),
      known.map((each) => each.slice(prefix.length)),
      charactersPerMistake,
    )
    return meant === undefined ? [] : [{ name, meant: prefix + meant }]
  })
}
