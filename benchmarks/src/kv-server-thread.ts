// KV server on the Redis of the given URL, in its own thread, so that its work is not measured with that of its callers.
import { parentPort, workerData } from 'node:worker_threads'
import { startKvServer } from '@bowline/testing/stores'

const { url, token } = await startKvServer({ redisUrl: String(workerData) })
parentPort?.postMessage({ url, token })
