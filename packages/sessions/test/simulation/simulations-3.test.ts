import { simulate } from './simulate.ts'

simulate(3)
