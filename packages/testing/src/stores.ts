export { testSessionStore } from './store-kit.ts'
export type { StoreKitOptions, TestRunner } from './store-kit/kit.ts'
export { testStateStore } from './state-kit.ts'
export type { StateKitOptions } from './state-kit/kit.ts'
