import { describeRandomMoments } from './random-moments.ts'

describeRandomMoments('files')
