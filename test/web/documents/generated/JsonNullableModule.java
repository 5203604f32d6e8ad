// Stands in for the module of jackson-databind-nullable: a field that the game did not set is not sent, and null is sent as null.
package org.openapitools.jackson.nullable;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.BeanDescription;
import com.fasterxml.jackson.databind.SerializationConfig;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.BeanPropertyWriter;
import com.fasterxml.jackson.databind.ser.BeanSerializerModifier;
import java.util.List;

public class JsonNullableModule extends SimpleModule {
  public JsonNullableModule() {
    setSerializerModifier(
        new BeanSerializerModifier() {
          @Override
          public List<BeanPropertyWriter> changeProperties(
              SerializationConfig config, BeanDescription description, List<BeanPropertyWriter> properties) {
            properties.replaceAll(property -> property.getType().hasRawClass(JsonNullable.class) ? new IfPresent(property) : property);
            return properties;
          }
        });
  }

  private static final class IfPresent extends BeanPropertyWriter {
    IfPresent(BeanPropertyWriter property) {
      super(property);
    }

    @Override
    public void serializeAsField(Object bean, JsonGenerator generator, SerializerProvider provider) throws Exception {
      JsonNullable<?> value = (JsonNullable<?>) get(bean);
      if (!value.isPresent()) return;
      generator.writeFieldName(getName());
      provider.defaultSerializeValue(value.get(), generator);
    }
  }
}
