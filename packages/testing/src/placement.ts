export { testPlacement } from './placement-kit.ts'
export type { HostSurroundings, PlacementHost, PlacementKitOptions, PlacementWorker } from './placement-kit/types.ts'
