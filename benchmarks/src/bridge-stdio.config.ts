// The configuration that the bridge of the stdio benchmark is started with.
import { defineBridgeConfig, inProcessExecutor } from '@bowline/bridge'
import { echo } from './bridge-echo.ts'

// A configuration is a default export.
export default defineBridgeConfig({ executors: [inProcessExecutor({ agents: [echo] })] })
