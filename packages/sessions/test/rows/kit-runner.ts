import type { TestRunner } from '@bowline/testing/stores'
import { describe, it } from 'vitest'

/** Runs a kit with the time limit of the project: that of the kit is short for a busy machine. */
export const kitRunner: TestRunner = { describe, it: (name, body) => it(name, body) }
