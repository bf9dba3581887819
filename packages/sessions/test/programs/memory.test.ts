import { rounds } from '../../../../scripts/test-length.ts'
import { explore } from './explore.ts'

// Each planted fault is found by one of so many.
explore('the memory store', { programs: rounds({ short: 100, long: 40_000 }), firstSeed: 1 })
