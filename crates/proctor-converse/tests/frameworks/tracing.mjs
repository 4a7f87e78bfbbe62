// OpenTelemetry as an application sets it up: its settings come from the environment.

import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

const Exporter = process.env.TRACES_AS_JSON ? JsonExporter : ProtobufExporter;
new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new Exporter())] }).register();
