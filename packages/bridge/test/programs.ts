import { program } from '../../../scripts/programs.ts'

/** Replaces the function in `src`, so that workers started by a test also run bundled programs. */
export function programFile(name: string): string {
  return program(`bridge/src/${name}`)
}

/** Returns the path of a bundled fixture program. */
export function fixtureFile(name: string): string {
  return program(`bridge/test/${name}`)
}
