import { explore } from './explore.ts'

explore('the memory store', {})
