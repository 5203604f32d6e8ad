// Stands in for the module of jackson-databind-nullable: the game sends no field of any type that it did not set, and reads them as they are.
package org.openapitools.jackson.nullable;

import com.fasterxml.jackson.databind.module.SimpleModule;

public class JsonNullableModule extends SimpleModule {}
