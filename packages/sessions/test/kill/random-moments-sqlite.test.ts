import { describeRandomMoments } from './random-moments.ts'

describeRandomMoments('data.db')
