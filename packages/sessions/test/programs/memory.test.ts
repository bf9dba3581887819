import { rounds } from '../../../../scripts/test-length.ts'
import { explore } from './explore.ts'

// This many programs find each planted fault.
explore('the memory store', { programs: rounds({ short: 100, long: 40_000 }), firstSeed: 1 })
