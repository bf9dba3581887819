export { stateStoreFromEnv, type ChosenStateStore, type StateStoreFromEnvOptions } from './stores/state-store-from-env.ts'
