import { program } from '../../../scripts/programs.ts'

/** Stands in for the function of the sources: workers that a test starts in its own process run bundled programs too. */
export function programFile(name: string): string {
  return program(`bridge/src/${name}`)
}

/** A program of the fixtures. */
export function fixtureFile(name: string): string {
  return program(`bridge/test/${name}`)
}
