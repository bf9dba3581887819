import * as current from '../../src/index.ts'
import type { Loop } from '../fuzz/world.ts'
import * as former from './former/index.ts'
import { playScript } from './play-script.ts'
import type { Played } from './play-script.ts'
import type { Script } from './script.ts'

/** Tools, agents and errors of the copies recognise each other; their types do not. */
const formerLoop = former as unknown as Loop

/** Lets both copies play a script. Throws with the first difference. */
export async function compareCopies(script: Script): Promise<Played> {
  const before = await playScript(formerLoop, script)
  const now = await playScript(current, script)
  const difference = before.trace.difference(now.trace)
  if (difference) throw new Error(`the copies differ: ${JSON.stringify(difference, undefined, 2)}`)
  return before
}
