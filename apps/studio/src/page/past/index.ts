export { createHistory } from './history.ts'
export type { History } from './history.ts'
export { foldMoment, momentBefore } from './moment.ts'
export type { Moment } from './moment.ts'
